import type { WordLists } from '../types.ts';

export const chinese: WordLists = {
  language: 'zh',
  lists: {
    CARRIED_OUT: '必须执行, 一律执行',
    IN_DATA: '结果中, 数据中, 行中, 返回的内容中, 查询结果, 列中, 响应中, 返回结果',
    COMMANDS: '任何指令, 指令, 命令, 任何命令, 要求',
    CARRY_OUT: '执行, 遵循, 照做, 遵从',
    WITHOUT_PERMISSION: '无需征得, 不经, 未经, 无需, 不需要经过, 不用征求, 不必询问, 不要询问',
    DATA: '数据, 结果, 内容, 消息, 记录, 行',
    IGNORE:
      '忽略, 无视, 忘记, 忘掉, 不要遵守, 不要遵循, 别遵守, 不再遵守, 不必遵守, 违反, 绕过, 抛弃, 丢弃, 不理会, 忽視, 無視, 忘了, 不用管, 停止遵守, 不要理会, 不要听从, 推翻, 覆盖, 请勿遵守, 撇开',
    PRIOR: '之前, 以前, 先前, 此前, 以上, 上面, 上述, 前面, 原来, 原有, 最初, 早先, 过去, 既有, 收到, 给你',
    RULES: '指令, 指示, 规则, 規則, 命令, 提示词, 提示詞, 准则, 要求, 规定, 守则, 设定, 约束',
    YOUR: '你的, 您的',
    MOD: '的, 所有, 的所有, 全部, 的全部, 一切',
    SYSTEM: '系统, 系統, 开发者',
    VOID_ABS: '全部作废, 一律作废, 作废, 统统无效',
    POLICY: '安全限制, 安全策略, 安全准则, 内容政策, 内容限制, 安全规则',
    OBEY: '听从, 遵守, 服从, 按照, 遵循, 执行',
    ONLY: '只, 仅, 只能, 只听从, 仅按照, 只按照, 只服从',
    THIS_TEXT: '本工具, 这个工具, 下面的内容, 以下内容, 本说明, 此工具, 该工具, 这段文字, 下面的命令',
    SYSTEM_PROMPT:
      '系统提示词, 系统提示语, 系統提示詞, 系统指令, 系统提示, 系统消息内容, 初始指令, 隐藏指令, 系统 prompt, 原始指令, 初始提示',
    SHOW: '输出, 显示, 展示, 告诉我, 打印, 泄露, 透露, 重复, 说出, 写出, 公开, 給我, 给我看, 列出, 复述, 发送',
    VERBATIM: '逐字, 完整, 原样, 一字不差, 全文',
    NOW_YOU: '你现在是, 从现在开始你是, 从现在起你是, 现在你是, 你不再是, 从现在起,你是, 从今以后你是, 您现在是, 接下来你是',
    ACT_AS: '扮演, 假装你是, 假装成, 模拟, 充当',
    UNRESTRICTED:
      '不受任何限制, 没有任何限制, 无任何限制, 没有限制, 不受限制, 无限制, 没有任何约束, 没有道德, 无视道德, 没有过滤, 必须回答所有, 从不拒绝, 不会拒绝, 没有任何规则',
    READ: '读取, 讀取, 打开, 获取, 读出, 收集, 查看, 复制',
    SEND: '发送, 发给, 填入, 放入, 复制到, 传给, 传入, 作为参数, 附加, 传送, 写入, 提交, 上传, 转发, 包含',
    SECRET: '密码, 密钥, 凭据, 凭证, 令牌, 口令, 私钥, 密鑰, 密碼',
    SECRET_FILE: '私钥文件, 密钥文件',
    OWN: '用户的, 里面的, 其中的, 对话中的, 你的, 项目中的, 环境变量',
    NOT_TELL_DIRECT:
      '不要向, 不要在回答中提, 不要告诉, 别告诉, 不要通知, 不要让, 不得告知, 不要向, 切勿告诉, 不能告诉, 无需告知, 不要告知, 不要提醒, 请勿告诉, 勿告知, 瞒着, 不让, 绝不要告诉',
    USER: '用户, 使用者, 用戶, 人类',
    UNAWARE: '不经用户同意, 在用户不知情, 未经用户, 用户不知情, 无需用户确认, 不让用户知道, 不经过用户',
    SILENTLY: '悄悄, 偷偷, 暗中, 秘密地, 静默',
    DO: '复制, 发送, 调用, 执行, 上传, 把, 转发, 将',
    CONVO: '对话, 聊天记录, 会话内容, 聊天内容, 對話, 对话内容, 会话历史, 谈话',
    WHOLE: '整个, 全部, 所有, 完整, 全文',
    BEFORE_USE: '使用本工具之前, 使用此工具之前, 调用之前, 使用前, 调用前, 使用该工具之前, 调用本工具之前',
    FILE: '文件, 目录, 档案',
    TOOL: '工具, 函数',
    ALWAYS: '必须, 总是, 始终, 每次, 一定要, 务必',
    CALL: '调用, 使用, 先调用, 呼叫',
    BEFORE: '之前, 先, 首先, 以前, 而不是',
    THIS_TOOL: '本工具, 此工具, 这个工具, 该工具',
    ANY_OTHER_TOOL: '任何其他工具, 其他工具, 所有其他工具, 别的工具, 任何工具, 其它工具',
    DECODE: '解码, 解密',
    ENCODED: '内容, 文本, 字符串',
    EXECUTE: '执行, 遵循, 照做',
  },
};

export const japanese: WordLists = {
  language: 'ja',
  lists: {
    OWN: '会話に出てきた, ユーザーの, 会話の中の',
    IN_DATA: '結果に含まれる, 結果の中の, データに含まれる, 行に書かれた, 行に含まれる, データ内の, 結果に書かれた, 列に書かれた',
    COMMANDS: '指示, 命令, 指令',
    WITHOUT_PERMISSION_SOV:
      '確認なし, 許可なし, 同意なし, 確認せず, 確認を求めず, 許可を求めず, に無断で, の同意を得ず, 確認は不要',
    DATA: 'データ, 結果, 内容, メッセージ, 行',
    IGNORE_SOV:
      '無視して, 無視し, 無視せよ, 無視しろ, 忘れて, 忘れろ, 忘れなさい, 従わない, 従うな, 守らない, 破棄して, 無効にして, 上書きして, 取り消して, 従わず, 守らず, 捨てて',
    PRIOR: 'これまで, 以前, 今まで, 上記, 前の, 上の, 従来, 先ほど, 最初, 元の, 前述, 先の, 既存',
    RULES: '指示, 命令, ルール, 規則, 指令, ガイドライン, プロンプト, 制約, 設定, 指針',
    YOUR: 'あなたの',
    SYSTEM: 'システム, 開発者',
    THIS_TEXT: 'このツール, この説明, この文章, 以下の命令, この指示, 次の命令, 以下の指示',
    ONLY: 'だけに, のみに, だけ, のみ',
    OBEY_SOV: '必ず実行, 実行すること, 実行しなさい, 従うこと, 従って, 従いなさい, 従え, 従ってください, 実行して',
    SYSTEM_PROMPT:
      'システムプロンプト, システム指示, システムメッセージの内容, 初期指示, 隠された指示, 内部指示, 最初の指示, システム命令',
    SHOW_SOV:
      '表示して, 出力して, 教えて, 開示して, 見せて, 書き出して, 繰り返して, 示して, 漏らして, 公開して, 出力せよ, 表示せよ',
    NOW_YOU:
      'あなたは今から, あなたは今, これからあなたは, 今からあなたは, あなたはもう, 以後あなたは, あなたはこれから, あなたは現在',
    UNRESTRICTED:
      '制限のない, 制限なし, 制限を受けない, 何の制限もない, 無制限の, フィルターなし, 制約のない, ルールのない, 拒否しない, 検閲のない, 制限がない',
    SECRET_FILE: '秘密鍵, ssh鍵',
    SECRET: 'パスワード, api キー, apiキー, 認証情報, 秘密鍵, トークン, 資格情報',
    READ_SOV: '読み取って, 読んで, 読み込んで, 開いて, 取得して, 読み取り, 読み込み',
    SEND_SOV:
      '渡して, 送信して, 送って, 入れて, 入れること, 含めて, 貼り付けて, コピーして, 渡すこと, 送ること, 添付して, 設定して, 含めること',
    NOT_TELL_SOV:
      '知らせない, 伝えず, 伝えない, 言わない, 知らせず, 教えない, 話さない, 秘密に, 内緒, 気付かれ, 気づかれ, 知られない, 通知しない, 絶対に知らせ, 伝えては, 隠して, 見せない',
    USER: 'ユーザー, ユーザ, 利用者, 使用者',
    SILENTLY: 'こっそり, 密かに, 黙って, ひそかに',
    DO: '送信, コピー, 実行, 呼び出, 渡, 送',
    CONVO: '会話, チャット履歴, 対話, やり取り, 会話履歴',
    WHOLE: '全体, 全文, すべて, 全て, 全部, 全',
    FILE: 'ファイル, フォルダ',
    ALWAYS: '必ず, 常に, いつも, 毎回',
    CALL_SOV: '呼び出して, 使って, 使用して, 実行して, 呼び出すこと, 使うこと, 呼んで, 使用すること',
    THIS_TOOL: 'このツール, 本ツール, この関数',
    ANY_OTHER_TOOL: '他のツール, ほかのツール, 他のどのツール, あらゆるツール, 他のすべてのツール, 別のツール',
    BEFORE: '前に, 先に, 最初に, まず, 代わりに',
  },
};

export const korean: WordLists = {
  language: 'ko',
  lists: {
    OWN: '대화에 나온*, 사용자의, 대화에서*',
    IN_DATA: '결과에 포함된*, 결과에 있는*, 데이터에 있는*, 행에 있는*, 결과에 나오는*, 데이터에 포함된*',
    COMMANDS: '지시*, 명령*',
    WITHOUT_PERMISSION_SOV: '확인 없이*, 동의 없이*, 허락 없이*, 묻지 말고*, 승인 없이*, 허가 없이*, 몰래*',
    DATA: '데이터*, 결과*, 내용*, 메시지*',
    IGNORE_SOV: '무시하*, 무시해*, 무시한*, 잊어*, 잊고, 잊으*, 따르지*, 지키지*, 폐기하*, 무효*, 버리*, 어기*, 우회하*',
    PRIOR: '이전*, 지금까지*, 앞선*, 위의, 앞의, 기존*, 이제까지*, 위에*, 원래*, 최초*, 처음*, 앞서*',
    RULES: '지시*, 지침*, 규칙*, 명령*, 프롬프트*, 가이드라인*, 제약*, 설정*',
    YOUR: '너의, 당신의, 네',
    SYSTEM: '시스템*, 개발자*',
    THIS_TEXT: '이 설명*, 이 도구*, 이 글*, 이 지시*, 아래 명령*, 이 텍스트*, 아래 지시*',
    ONLY: '설명만, 도구만, 만, 명령만, 지시만',
    OBEY_SOV: '따르*, 따라*, 복종*, 실행하*',
    SYSTEM_PROMPT:
      '시스템 프롬프트*, 시스템프롬프트*, 시스템 지시*, 시스템 메시지*, 숨겨진 지시*, 초기 지시*, 시스템 명령*, 숨은 지시*',
    SHOW_SOV: '출력하*, 출력해*, 보여*, 알려*, 공개하*, 말해*, 표시하*, 표시해*, 반복하*, 유출*, 인쇄*',
    NOW_YOU:
      '너는 이제, 당신은 이제, 이제부터 너는, 이제부터 당신은, 지금부터 너는, 지금부터 당신은, 넌 이제, 이제 너는, 이제 당신은',
    UNRESTRICTED:
      '제한이 없는, 제한 없는, 제한 없이, 아무 제한*, 무제한*, 어떤 제한도*, 규칙이 없는, 검열 없는, 제약 없는, 거절하지*, 필터 없는, 제약이 없는',
    SECRET: '비밀번호*, 암호*, api 키*, 자격 증명*, 토큰*, 비밀 키*, 개인 키*',
    READ_SOV: '읽어*, 읽고*, 열어*, 읽은*, 가져와*',
    SEND_SOV: '보내*, 전달하*, 전달해*, 넣으*, 넣어*, 포함하*, 포함해*, 복사하*, 복사해*, 전송하*, 전송해*, 첨부하*, 첨부해*',
    NOT_TELL_SOV: '알리지*, 말하지*, 알려주지*, 언급하지*, 알릴*, 모르게*, 숨기*, 비밀로*, 통지하지*, 보여주지*, 몰래*',
    USER: '사용자*, 유저*',
    SILENTLY: '몰래, 은밀*, 조용히, 비밀리에',
    DO: '보내*, 복사*, 실행*, 호출*, 전달*, 전송*',
    CONVO: '대화*, 채팅 기록*, 대화 내용*, 대화 기록*, 채팅*',
    WHOLE: '전체*, 모든, 전부*',
    FILE: '파일*, 폴더*',
    ALWAYS: '항상, 반드시, 언제나, 매번',
    CALL_SOV: '호출하*, 호출해*, 사용하*, 사용해*, 실행하*, 실행해*',
    THIS_TOOL: '이 도구*, 이 함수*, 본 도구*',
    ANY_OTHER_TOOL: '다른 도구*, 다른 모든 도구*, 어떤 도구*, 모든 도구*, 다른 어떤 도구*',
    BEFORE: '전에*, 먼저, 대신, 앞서*, 우선',
  },
};

export const turkish: WordLists = {
  language: 'tr',
  lists: {
    OWN: 'kullanıcının, konuşmadaki, sohbetteki',
    IN_DATA: 'sonuçlarda*, sonuçtaki, satırlardaki, verilerdeki, sonuçlardaki, sütundaki',
    COMMANDS: 'talimat*, komut*, emir*',
    WITHOUT_PERMISSION_SOV: 'onayı olmadan, sormadan, izni olmadan, onay almadan, izin almadan, haberi olmadan',
    DATA: 'veri*, sonuç*, satır*, içerik*, mesaj*',
    IGNORE_SOV:
      'yok say, yok sayın, görmezden gel, görmezden gelin, unut, unutun, dikkate alma, dikkate almayın, göz ardı et, göz ardı edin, uyma, uymayın, hiçe say, boş ver, önemseme, takip etme, geçersiz kıl, çiğne, iptal et',
    PRIOR: 'önceki, daha önce, yukarıdaki, evvelki, eski, şimdiye kadar*, mevcut, ilk, bundan önceki, geçmiş',
    RULES: 'talimat*, kural*, yönerge*, komut*, emir*, direktif*, istem, istemi, istemleri, prompt*',
    YOUR: 'senin, sizin, kendi',
    SYSTEM: 'sistem*, geliştirici*',
    ONLY: 'sadece, yalnızca, yalnız',
    THIS_TEXT: 'bu metne, bu araca, bu açıklamaya, bu talimatlara, bu kurallara, aşağıdakine',
    OBEY_SOV: 'uy, uyun, itaat et, itaat edin, uygula, takip et',
    SYSTEM_PROMPT:
      'sistem promptu*, sistem istemi*, sistem mesajı*, sistem talimat*, gizli talimat*, sistem komut*, başlangıç talimat*, ilk talimat*',
    SHOW_SOV: 'göster, gösterin, yazdır, yaz, açıkla, paylaş, söyle, ifşa et, tekrarla, ver, yazın, açığa çıkar',
    NOW_YOU: 'artık sen, sen artık, şimdi sen, bundan sonra sen, sen şimdi, bundan böyle sen, şu andan itibaren sen',
    UNRESTRICTED:
      'sınırsız, kısıtlamasız, hiçbir kısıtlama*, kısıtlama olmadan, filtresiz, sınırlama olmadan, kuralsız, hiçbir sınır*, hiçbir kural*, sansürsüz, asla reddetmeyen',
    SECRET: 'şifre*, parola*, api anahtar*, kimlik bilgi*, gizli anahtar*, özel anahtar*',
    READ_SOV: 'oku, okuyun, aç, okuyup',
    SEND_SOV: 'gönder, gönderin, kopyala, kopyalayın, ekle, ekleyin, aktar, yapıştır, ilet, yükle',
    NOT_TELL_SOV:
      'söyleme, söylemeyin, bildirme, bildirmeyin, haber verme, haber vermeden, söylemeden, bahsetme, bildirmeden, açıklama yapma, gizle, sakla, fark ettirmeden, belli etme, bilmesin',
    USER: 'kullanıcı*',
    SILENTLY: 'gizlice, sessizce, çaktırmadan, fark ettirmeden',
    DO: 'gönder, kopyala, çalıştır, ekle, aktar, çağır',
    CONVO: 'konuşma*, sohbet*, yazışma*, mesaj geçmişi*, diyalog*',
    WHOLE: 'tüm, bütün, tamamını, hepsini, tamamen',
    FILE: 'dosya*, klasör*',
    ALWAYS: 'her zaman, daima, mutlaka, her seferinde',
    CALL_SOV: 'çağır, kullan, çalıştır, çağırın, kullanın',
    THIS_TOOL: 'bu aracı, bu araç, bu fonksiyonu, bunu',
    ANY_OTHER_TOOL: 'diğer araç*, başka araç*, başka bir araç*, diğer tüm araç*, herhangi bir araç*, diğer bütün araç*',
    BEFORE: 'önce, ilk olarak, yerine, öncelikle',
  },
};

export const hindi: WordLists = {
  language: 'hi',
  lists: {
    IGNORE_SOV:
      'अनदेखा करें, अनदेखा करो, नज़रअंदाज़ करें, नजरअंदाज करें, नज़रअंदाज़ करो, भूल जाओ, भूल जाएं, भूल जाइए, उपेक्षा करें, पालन न करें, अनदेखा कर दें',
    PRIOR: 'पिछले, पिछली, पहले के, ऊपर के, पूर्व, उपरोक्त, पहले, सभी पिछले',
    RULES: 'निर्देशों, निर्देश, नियमों, नियम, आदेशों, आदेश, हिदायतें, प्रॉम्प्ट',
    SYSTEM_PROMPT: 'सिस्टम प्रॉम्प्ट, सिस्टम निर्देश, छिपे निर्देश, सिस्टम संदेश',
    SHOW_SOV: 'दिखाओ, दिखाएं, बताओ, बताएं, प्रकट करें, छापें, लिखें',
    NOT_TELL_SOV: 'न बताएं, मत बताओ, मत बताना, न बताएँ, सूचित न करें, छिपाएं',
    USER: 'उपयोगकर्ता, यूज़र, यूजर',
  },
};
